// Runs editors/vscode/test/suite.ts in VS Code's own extension host, served to a headless Chromium:
//   node vscode.mjs VSCODE_SERVER_FOLDER EXTENSION_FOLDER PYTHON CHROMIUM
// VSCODE_SERVER_FOLDER holds out/server-main.js; playwright-core must be installed where Node finds it.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";

const [server, extension, python, chromium] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), "package.json"));
const playwright = require("playwright-core");
const PATIENCE = 180_000;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ferrodiff-vscode-"));
const workspace = path.join(folder, "workspace");
fs.mkdirSync(workspace);
fs.mkdirSync(path.join(folder, "data", "User"), { recursive: true });
fs.writeFileSync(
  path.join(folder, "data", "User", "settings.json"),
  JSON.stringify({
    "telemetry.telemetryLevel": "off",
    "security.workspace.trust.enabled": false,
    "extensions.autoUpdate": false,
    "workbench.startupEditor": "none",
    "ferrodiff.interpreter": python,
  }),
);

const port = await new Promise((resolve) => {
  const probe = net.createServer().listen(0, "127.0.0.1", () => {
    const { port: free } = probe.address();
    probe.close(() => resolve(free));
  });
});
const words = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token", "--accept-server-license-terms"];
words.push("--enable-smoke-test-driver", "--server-data-dir", path.join(folder, "server"));
words.push("--user-data-dir", path.join(folder, "data"), "--extensions-dir", path.join(folder, "extensions"));
words.push("--telemetry-level", "off");
const host = spawn(process.execPath, [path.join(server, "out", "server-main.js"), ...words], { stdio: "inherit", detached: true });

let browser;
let code = 1;
try {
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`http://127.0.0.1:${port}/`);
      break;
    } catch (error) {
      if (tries > 600) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const done = new Promise((resolve) => {
    page.exposeFunction("codeAutomationExit", resolve);
    setTimeout(() => resolve("no answer in time"), PATIENCE);
  });
  await page.exposeFunction("codeAutomationLog", (kind, values) => console.log(kind, ...values));
  const remote = (file) => `vscode-remote://127.0.0.1:${port}${file}`;
  const payload = [
    ["extensionDevelopmentPath", remote(extension)],
    ["extensionTestsPath", remote(path.join(extension, "dist", "suite.js"))],
    ["enableProposedApi", ""],
    ["skipWelcome", "true"],
  ];
  const query = `folder=${workspace}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
  await page.goto(`http://127.0.0.1:${port}/?${query}`);
  code = await done;
  console.log(code === 0 ? "ok   VS Code" : `FAIL VS Code: ${code}`);
} finally {
  await browser?.close();
  process.kill(-host.pid);
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(code === 0 ? 0 : 1);
