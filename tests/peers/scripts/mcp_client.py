"""Drives the bridge through the official Python MCP client and prints what it saw as one JSON object.

usage: mcp_client.py http URL TOKEN CALLS   |   mcp_client.py stdio CALLS COMMAND [ARG ...]
CALLS is a JSON list of {"name": ..., "arguments": {...}}.
"""

import asyncio
import json
import os
import sys

from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def observe(session, calls):
    tools = plain(await session.list_tools())["tools"]
    seen = {"tools": [tool["name"] for tool in tools], "calls": []}
    seen["resources"] = plain(await session.list_resources())["resources"]
    seen["templates"] = plain(await session.list_resource_templates())["resourceTemplates"]
    for call in calls:
        seen["calls"].append(plain(await session.call_tool(call["name"], call["arguments"])))
    return seen


async def over_http(url, token, calls):
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                hello = plain(await session.initialize())
                seen = await observe(session, calls)
                seen["protocolVersion"] = hello["protocolVersion"]
                seen["serverInfo"] = hello["serverInfo"]
                return seen


async def over_stdio(calls, command):
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            hello = plain(await session.initialize())
            seen = await observe(session, calls)
            seen["protocolVersion"] = hello["protocolVersion"]
            seen["serverInfo"] = hello["serverInfo"]
            return seen


async def negotiated(url, token, calls):
    """The high-level client, which negotiates the revision by itself."""
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            seen = await observe(client, calls)
            seen["protocolVersion"] = client.protocol_version
            return seen


def main():
    how = sys.argv[1]
    if how == "http":
        seen = asyncio.run(over_http(sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
    elif how == "negotiated":
        seen = asyncio.run(negotiated(sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
    elif how == "stdio":
        seen = asyncio.run(over_stdio(json.loads(sys.argv[2]), sys.argv[3:]))
    else:
        sys.exit(f"unknown transport {how}")
    json.dump(seen, sys.stdout)


main()
