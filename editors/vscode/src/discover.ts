/** Which program serves: a pure decision, so that it can be tested without an editor. */

export interface Sources {
  /** The setting `ferrodiff.server.path`. */
  readonly path: string;
  /** The setting `ferrodiff.interpreter`. */
  readonly interpreter: string;
  /** The active environment of the Python extension, if that is installed. */
  readonly activeInterpreter: string | undefined;
  /** Whether the workspace's own settings and environments may be trusted. */
  readonly trusted: boolean;
  /** Finds a program on PATH. */
  which(name: string): string | undefined;
  /** Whether Ferrodiff can be imported by an interpreter. */
  hasFerrodiff(interpreter: string): boolean;
}

export interface Program {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Why this one, for the log. */
  readonly reason: string;
}

function byInterpreter(interpreter: string, reason: string): Program {
  return { command: interpreter, arguments: ["-m", "ferrodiff.server"], reason };
}

/**
 * The program to start, or `undefined` when none is found.
 *
 * In order: the path setting, the interpreter setting, the Python extension's environment, `ferrodiff` on
 * PATH, a Python on PATH that has it. What a workspace can influence counts only when it is trusted.
 */
export function discover(sources: Sources): Program | undefined {
  if (sources.trusted) {
    if (sources.path) {
      return { command: sources.path, arguments: [], reason: "ferrodiff.server.path" };
    }
    if (sources.interpreter) {
      return byInterpreter(sources.interpreter, "ferrodiff.interpreter");
    }
    const active = sources.activeInterpreter;
    if (active && sources.hasFerrodiff(active)) {
      return byInterpreter(active, "the Python extension's environment");
    }
  }
  const installed = sources.which("ferrodiff");
  if (installed) {
    return { command: installed, arguments: [], reason: "PATH" };
  }
  for (const name of ["python3", "python"]) {
    const interpreter = sources.which(name);
    if (interpreter && sources.hasFerrodiff(interpreter)) {
      return byInterpreter(interpreter, `${name} on PATH`);
    }
  }
  return undefined;
}

/** Finds an executable file in a PATH-like list. */
export function findOnPath(
  name: string,
  path: string,
  separator: string,
  extensions: readonly string[],
  isExecutable: (file: string) => boolean,
  join: (folder: string, file: string) => string,
): string | undefined {
  for (const folder of path.split(separator).filter((part) => part !== "")) {
    for (const extension of extensions) {
      const file = join(folder, name + extension);
      if (isExecutable(file)) {
        return file;
      }
    }
  }
  return undefined;
}
