import { StoreFault } from "../fault.ts";

/** Fails as unreachable if there is no answer within this time: a silent connection would fail only after minutes. */
export async function withTimeout<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreFault("unreachable", "the database does not answer")), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
