// Drives the bridge through the official TypeScript MCP client and prints what it saw as one JSON object.
//
// usage: mcp_client.mjs http URL TOKEN CALLS   |   mcp_client.mjs stdio CALLS COMMAND [ARG ...]
// CALLS is a JSON list of {"name": ..., "arguments": {...}}.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

// The library lives outside the repository, where NIAGARA_BRIDGE_PEERS says.
const require = createRequire(join(process.env.NIAGARA_BRIDGE_PEERS, "node", "index.js"));
const load = async (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}`)).href);

const { Client } = await load("index.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");
const { StdioClientTransport } = await load("stdio.js");

const [how, ...rest] = process.argv.slice(2);
let transport;
let calls;
if (how === "http") {
  const [url, token, wanted] = rest;
  calls = JSON.parse(wanted);
  transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
} else if (how === "stdio") {
  const [wanted, command, ...args] = rest;
  calls = JSON.parse(wanted);
  transport = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
} else {
  throw new Error(`unknown transport ${how}`);
}

const client = new Client({ name: "niagara-bridge-peer-test", version: "1.0.0" });
await client.connect(transport);
const seen = {
  serverInfo: client.getServerVersion(),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  resources: (await client.listResources()).resources,
  templates: (await client.listResourceTemplates()).resourceTemplates,
  calls: [],
};
for (const call of calls) {
  seen.calls.push(await client.callTool(call));
}
if (how === "http") {
  await transport.terminateSession();
}
await client.close();
process.stdout.write(JSON.stringify(seen));
