// Form login with SCRAM-SHA-256: two messages to the security check, then one plain request to it.
(function () {
  "use strict";
  const checkUrl = "/j_security_check/";
  const utf8 = new TextEncoder();

  const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const fromBase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const attributeOf = (message, key) => {
    const part = message.split(",").find((p) => p.startsWith(key + "="));
    return part === undefined ? undefined : part.slice(2);
  };

  async function hmac(key, data) {
    const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
  }

  async function saltedPassword(password, salt, iterations) {
    const key = await crypto.subtle.importKey("raw", utf8.encode(password.normalize("NFKC")), "PBKDF2", false, ["deriveBits"]);
    const bits = await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations }, key, 256);
    return new Uint8Array(bits);
  }

  async function send(action, name, message) {
    const answer = await fetch(checkUrl, {
      method: "POST",
      credentials: "same-origin",
      redirect: "manual",
      headers: { "Content-Type": "application/x-niagara-login-support" },
      body: "action=" + action + "&" + name + "=" + message,
    });
    return answer.ok ? (await answer.text()).trim() : "";
  }

  async function login(user, password) {
    const nonce = toBase64(crypto.getRandomValues(new Uint8Array(16))).replace(/[=+/]/g, "");
    const name = user.normalize("NFKC").replace(/=/g, "=3D").replace(/,/g, "=2C");
    const firstBare = "n=" + name + ",r=" + nonce;
    const serverFirst = await send("sendClientFirstMessage", "clientFirstMessage", "n,," + firstBare);
    const fullNonce = attributeOf(serverFirst, "r");
    if (!fullNonce || !fullNonce.startsWith(nonce) || fullNonce === nonce) {
      return false;
    }
    const salted = await saltedPassword(password, fromBase64(attributeOf(serverFirst, "s")), Number(attributeOf(serverFirst, "i")));
    const clientKey = await hmac(salted, utf8.encode("Client Key"));
    const storedKey = new Uint8Array(await crypto.subtle.digest("SHA-256", clientKey));
    const withoutProof = "c=biws,r=" + fullNonce;
    const authMessage = utf8.encode(firstBare + "," + serverFirst + "," + withoutProof);
    const signature = await hmac(storedKey, authMessage);
    const proof = clientKey.map((byte, i) => byte ^ signature[i]);
    const serverFinal = await send("sendClientFinalMessage", "clientFinalMessage", withoutProof + ",p=" + toBase64(proof));
    const expected = await hmac(await hmac(salted, utf8.encode("Server Key")), authMessage);
    return attributeOf(serverFinal, "v") === toBase64(expected);
  }

  const form = document.getElementById("login");
  if (form) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      let ok = false;
      try {
        ok = await login(document.getElementById("username").value, document.getElementById("password").value);
      } catch (error) {
        console.error("login failed", error);
      }
      window.location.assign(ok ? checkUrl : "/login?auth=fail");
    });
  }
})();
