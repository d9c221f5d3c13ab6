// How the server is started and what it is told: without the editor, so that it can be tested without one.

/** The settings, as the editor has them. */
export interface Settings {
  get<T>(name: string, otherwise: T): T;
}

/** Settings that the server knows. */
export const SERVER_SETTINGS = [
  "chip",
  "launch",
  "defines",
  "includeFolders",
  "hints",
  "maxKernels",
  "debounceMilliseconds",
] as const;

/** The program and its arguments. */
export function command(settings: Settings): { command: string; args: string[] } {
  const path = settings.get("path", "assay").trim();
  return { command: path === "" ? "assay" : path, args: ["lsp"] };
}

/** What the server is told when it starts: what the user has set. */
export function initializationOptions(settings: Settings): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const name of SERVER_SETTINGS) {
    const value = settings.get<unknown>(name, undefined);
    if (value !== undefined && value !== null && value !== "") {
      options[name] = value;
    }
  }
  return options;
}

/** What to say when the server does not start. */
export function startFailure(program: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `Assay: cannot start ${program} lsp (${why}). Install assay (pip install assay-metal, or cargo install assay-metal), or let assay.path name it.`;
}
