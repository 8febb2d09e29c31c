/** Runs inside VS Code's extension host: what a user of the extension sees. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

const PATIENCE_MILLISECONDS = 60_000;
const TEXT = `#![feature(autodiff)]
use std::autodiff::{autodiff_forward, autodiff_reverse};
/* é😋 */ #[autodiff_reverse(dsquare, Active, Active)]
fn square(x: f64) -> f64 { x * x }
#[autodiff_forward(dcube, Duel, Dual)]
fn cube(x: f64) -> f64 { x * x * x }
`;

async function eventually<T>(what: string, ask: () => Thenable<T> | T, good: (found: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const found = await ask();
    if (good(found)) {
      return found;
    }
    assert.ok(Date.now() < deadline, `${what}: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function at(document: vscode.TextDocument, needle: string): vscode.Position {
  return document.positionAt(document.getText().indexOf(needle) + 1);
}

/** The entry point that VS Code's test host calls. */
export async function run(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "rust", content: TEXT });
  await vscode.window.showTextDocument(document);

  const problems = await eventually(
    "diagnostics",
    () => vscode.languages.getDiagnostics(document.uri),
    (found) => found.some((item) => item.message.startsWith("did not recognize Activity: `Duel`")),
  );
  const wrong = problems.find((item) => item.message.includes("Duel"));
  assert.equal(document.getText(wrong?.range), "Duel");

  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
    "vscode.executeHoverProvider",
    document.uri,
    at(document, "dsquare"),
  );
  const shown = hovers.flatMap((hover) => hover.contents.map((item) => (item as vscode.MarkdownString).value)).join("\n");
  assert.ok(shown.includes("fn dsquare(x: f64, dret: f64) -> (f64, f64)"), shown);

  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri);
  assert.ok(lenses.some((lens) => lens.command?.command === "ferrodiff.run"));

  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const hints = await vscode.commands.executeCommand<vscode.InlayHint[]>(
    "vscode.executeInlayHintProvider",
    document.uri,
    whole,
  );
  assert.ok(hints.some((hint) => hint.label === "x:"));

  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider",
    document.uri,
    wrong?.range ?? whole,
  );
  const fix = actions.find((action) => action.title === "Replace by `Dual`");
  assert.ok(fix?.edit !== undefined, JSON.stringify(actions.map((action) => action.title)));
  await vscode.workspace.applyEdit(fix.edit);
  await eventually(
    "no diagnostics",
    () => vscode.languages.getDiagnostics(document.uri),
    (found) => !found.some((item) => item.message.includes("Duel")),
  );

  await vscode.commands.executeCommand("ferrodiff.expandHere");
  const expansion = await eventually(
    "the expansion",
    () => vscode.workspace.textDocuments.find((item) => item.uri.scheme === "ferrodiff"),
    (found) => found !== undefined && found.getText().includes("fn dsquare("),
  );
  assert.ok(expansion !== undefined);
}
