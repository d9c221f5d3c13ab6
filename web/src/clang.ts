// clang as WebAssembly, loaded when source is first compiled here.

/** Loads the compiler; says how many bytes have come. */
export async function clang(progress: (done: number, of: number) => void): Promise<void> {
  progress(0, 0);
  throw JSON.stringify({ kind: "missing", message: "this page has no compiler" });
}
