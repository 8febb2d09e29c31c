/** Virtual documents: expansions, IR, assembly and tape reports. */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

export const SCHEME = "ferrodiff";
const REQUEST = "ferrodiff/content";
const CHANGED = "ferrodiff/contentChanged";

export class Content implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[] = [this.changes];
  readonly onDidChange = this.changes.event;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.subscriptions.push(vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
  }

  /** Listens to a newly started client. */
  follow(client: LanguageClient): void {
    client.onNotification(CHANGED, (params: { uri: string }) => {
      this.changes.fire(vscode.Uri.parse(params.uri));
    });
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const client = this.client();
    if (client === undefined) {
      return "";
    }
    // The server compares URIs as it wrote them: without VS Code's own escaping.
    const answer = await client.sendRequest<{ text: string }>(REQUEST, { uri: uri.toString(true) }, token);
    return answer.text;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}
