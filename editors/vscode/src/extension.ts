/** Starts the language server and connects it; everything clever is in the server. */

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type StaticFeature } from "vscode-languageclient/node";
import { Content, SCHEME } from "./content";
import { discover, findOnPath, type Program } from "./discover";
import { Status } from "./status";

const PROBE_MILLISECONDS = 5000;
const SECTION = "ferrodiff";

let client: LanguageClient | undefined;

/** What the tests look at. */
export interface Api {
  readonly client: () => LanguageClient | undefined;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("Ferrodiff", { log: true });
  const status = new Status();
  const content = new Content(() => client);
  const restart = async (): Promise<void> => {
    await stop();
    await start(log, status, content);
  };
  context.subscriptions.push(
    log,
    status,
    content,
    vscode.commands.registerCommand("ferrodiff.restartServer", restart),
    vscode.commands.registerCommand("ferrodiff.showLog", () => log.show()),
    vscode.commands.registerCommand("ferrodiff.expandHere", () => show("ferrodiff.showExpansion")),
    vscode.commands.registerCommand("ferrodiff.rewriteHere", () => show("ferrodiff.showRewritten")),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("ferrodiff.server") || event.affectsConfiguration("ferrodiff.interpreter")) {
        await restart();
      }
    }),
  );
  await start(log, status, content);
  return { client: () => client };
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.dispose();
}

async function start(log: vscode.LogOutputChannel, status: Status, content: Content): Promise<void> {
  const program = await findProgram();
  if (program === undefined) {
    status.show("not installed", "error", false);
    await explainMissing();
    return;
  }
  const further = vscode.workspace.getConfiguration(SECTION).get<string[]>("server.arguments", []);
  const words = [...program.arguments, "lsp", ...further];
  log.info(`starting ${program.command} ${words.join(" ")} (found by ${program.reason})`);
  const starting = new LanguageClient(
    "ferrodiff",
    "Ferrodiff",
    { command: program.command, args: words },
    clientOptions(log),
  );
  starting.registerFeature(experimental());
  status.follow(starting);
  content.follow(starting);
  client = starting;
  try {
    await starting.start();
    status.show("ready", "ok", false);
  } catch (error) {
    status.show("not running", "error", false);
    log.error(String(error));
    await vscode.window.showErrorMessage(`Ferrodiff's language server does not start: ${String(error)}`);
  }
}

function clientOptions(log: vscode.LogOutputChannel): LanguageClientOptions {
  return {
    documentSelector: [
      { scheme: "file", language: "rust" },
      { scheme: "untitled", language: "rust" },
    ],
    outputChannel: log,
    initializationOptions: { ...vscode.workspace.getConfiguration(SECTION), run: runSettings() },
    middleware: {
      workspace: {
        // A workspace that is not trusted is analysed, and nothing of it is ever run.
        configuration: async (params, token, next) => {
          const answer = await next(params, token);
          return Array.isArray(answer)
            ? answer.map((item) => (isSection(item) ? { ...item, run: { ...item["run"], ...runSettings() } } : item))
            : answer;
        },
      },
    },
  };
}

function isSection(item: unknown): item is Record<string, object> {
  return typeof item === "object" && item !== null && "run" in item;
}

function runSettings(): object {
  const settings = vscode.workspace.getConfiguration(SECTION).get<object>("run", {});
  return vscode.workspace.isTrusted ? settings : { ...settings, enable: false };
}

/** Announces what this client reads beyond the standard. */
function experimental(): StaticFeature {
  return {
    fillClientCapabilities(capabilities): void {
      capabilities.experimental = {
        ...(capabilities.experimental as object | undefined),
        ferrodiffContent: true,
        serverStatusNotification: true,
      };
    },
    initialize(): void {},
    getState: () => ({ kind: "static" }),
    clear(): void {},
  };
}

async function show(command: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined && editor.document.uri.scheme !== SCHEME) {
    await vscode.commands.executeCommand(command, { uri: editor.document.uri.toString() });
  }
}

// -- finding the server ---------------------------------------------------------------------------------

async function findProgram(): Promise<Program | undefined> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return discover({
    path: settings.get("server.path", ""),
    interpreter: settings.get("interpreter", ""),
    activeInterpreter: await activeInterpreter(),
    trusted: vscode.workspace.isTrusted,
    which,
    hasFerrodiff,
  });
}

/** The Python extension's choice, if that extension is there; Rust users may do without it. */
async function activeInterpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  try {
    const api: unknown = await extension.activate();
    const environments = (api as { environments?: PythonEnvironments }).environments;
    return environments?.getActiveEnvironmentPath().path;
  } catch {
    return undefined;
  }
}

interface PythonEnvironments {
  getActiveEnvironmentPath(): { path: string };
}

function which(name: string): string | undefined {
  const extensions = process.platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  return findOnPath(name, process.env["PATH"] ?? "", path.delimiter, extensions, isExecutable, path.join);
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function hasFerrodiff(interpreter: string): boolean {
  const probe = spawnSync(interpreter, ["-c", "import ferrodiff.server"], { timeout: PROBE_MILLISECONDS });
  return probe.status === 0;
}

async function explainMissing(): Promise<void> {
  const settings = "Open settings";
  const chosen = await vscode.window.showErrorMessage(
    "Ferrodiff is not installed. `pip install ferrodiff` (or `uv tool install ferrodiff`) installs it; " +
      "if it is installed, set `ferrodiff.server.path`.",
    settings,
  );
  if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "ferrodiff.server.path");
  }
}
