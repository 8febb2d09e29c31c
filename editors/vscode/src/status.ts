/** The server's state in the editor's language status. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

interface ServerStatus {
  readonly health: "ok" | "warning" | "error";
  readonly quiescent: boolean;
  readonly message?: string;
}

const SEVERITIES = {
  ok: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
} as const;

export class Status implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem("ferrodiff", { language: "rust" });

  constructor() {
    this.item.name = "Ferrodiff";
    this.item.command = { command: "ferrodiff.showLog", title: "Log" };
    this.show("starting", "ok", true);
  }

  show(text: string, health: ServerStatus["health"], busy: boolean): void {
    this.item.text = `Ferrodiff: ${text}`;
    this.item.severity = SEVERITIES[health];
    this.item.busy = busy;
  }

  follow(client: LanguageClient): void {
    client.onNotification("experimental/serverStatus", (status: ServerStatus) => {
      this.show(status.message ?? "ready", status.health, !status.quiescent);
    });
  }

  dispose(): void {
    this.item.dispose();
  }
}
