import assert from "node:assert/strict";
import { test } from "node:test";
import { discover, findOnPath, type Sources } from "../src/discover";

function sources(changes: Partial<Sources> = {}): Sources {
  return {
    path: "",
    interpreter: "",
    activeInterpreter: undefined,
    trusted: true,
    which: () => undefined,
    hasFerrodiff: () => false,
    ...changes,
  };
}

test("nothing is found where nothing is", () => {
  assert.equal(discover(sources()), undefined);
});

test("settings come first", () => {
  const both = sources({ path: "/a/ferrodiff", interpreter: "/b/python", which: (name) => `/usr/bin/${name}` });
  assert.equal(discover(both)?.command, "/a/ferrodiff");
  assert.deepEqual(discover(sources({ interpreter: "/b/python" }))?.arguments, ["-m", "ferrodiff.server"]);
});

test("an untrusted workspace chooses nothing", () => {
  const hostile = { path: "/evil", interpreter: "/evil", activeInterpreter: "/evil", trusted: false };
  assert.equal(discover(sources({ ...hostile, hasFerrodiff: () => true })), undefined);
  const found = discover(sources({ ...hostile, which: (name) => (name === "ferrodiff" ? "/usr/bin/ferrodiff" : undefined) }));
  assert.equal(found?.command, "/usr/bin/ferrodiff");
});

test("the Python extension's environment counts only with Ferrodiff in it", () => {
  const active = { activeInterpreter: "/venv/python" };
  assert.equal(discover(sources(active)), undefined);
  assert.equal(discover(sources({ ...active, hasFerrodiff: (p) => p === "/venv/python" }))?.command, "/venv/python");
});

test("a Python on PATH is the last resort", () => {
  const found = discover(
    sources({ which: (name) => (name === "python3" ? "/usr/bin/python3" : undefined), hasFerrodiff: () => true }),
  );
  assert.equal(found?.reason, "python3 on PATH");
});

test("PATH is searched in order, with extensions", () => {
  const there = new Set(["/b/x.exe", "/c/x"]);
  const find = (extensions: string[]): string | undefined =>
    findOnPath("x", "/a::/b:/c", ":", extensions, (file) => there.has(file), (folder, file) => `${folder}/${file}`);
  assert.equal(find([""]), "/c/x");
  assert.equal(find([".exe", ""]), "/b/x.exe");
});
