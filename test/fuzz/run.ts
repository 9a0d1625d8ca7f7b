/**
 * Fuzzes every reader of external text: `npm run test:fuzz -- --inputs 1000000 --seed 7 [--target uri]`.
 * Failing inputs are minimized and saved in fixtures/fuzz, which `npm test` tries again.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Failed, keepInput } from "./campaign.ts";
import type { Target } from "./target.ts";
import { TARGETS } from "./targets.ts";
import { HEAD_BYTES, type ThreadWork } from "./thread.ts";

const LARGEST_INPUT = 1 << 20;
/** Long enough for a busy machine; the thread itself counts processor time. */
const SILENCE_MS = 60_000;

interface Result {
  readonly name: string;
  readonly tried: number;
  readonly failures: readonly Failed[];
  readonly seconds: number;
}

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    target: { type: "string", multiple: true },
  },
});
const chosen = TARGETS.filter(({ name }) => values.target === undefined || values.target.includes(name));
if (chosen.length === 0) throw new Error(`no such target; there are ${TARGETS.map(({ name }) => name).join(", ")}`);
const weights = chosen.reduce((sum, { weight }) => sum + weight, 0);

const results: Result[] = [];
const waiting = [...chosen].sort((a, b) => a.weight - b.weight);
const began = Date.now();
await Promise.all(
  Array.from({ length: Math.min(2, availableParallelism()) }, async () => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const result = await fuzz(
        target,
        Math.ceil((Number(values.inputs) * target.weight) / weights),
        Number(values.seed),
      );
      results.push(result);
      tell(result);
    }
  }),
);
const tried = results.reduce((sum, result) => sum + result.tried, 0);
const failures = results.flatMap((result) => result.failures);
const seconds = (Date.now() - began) / 1_000;
console.log(
  `\n${tried} inputs, ${failures.length} failures, ${Math.round(seconds)} s, ${Math.round(tried / seconds)} inputs/s, seed ${values.seed}`,
);
process.exitCode = failures.length === 0 ? 0 : 1;

function tell({ name, tried: inputs, failures: failed, seconds: took }: Result): void {
  console.log(
    `${name.padEnd(18)} ${String(inputs).padStart(9)} inputs ${String(failed.length).padStart(3)} failures ${String(Math.round(inputs / took)).padStart(8)} inputs/s`,
  );
  for (const { input, error } of failed)
    console.log(`  ${keepInput(name, input)}\n    ${error.slice(0, 1_500).replaceAll("\n", "\n    ")}`);
}

/**
 * Runs a target in a thread. An input that does not end is a failure; the thread is terminated, and another one
 * continues with other inputs.
 */
async function fuzz({ name }: Target, inputs: number, seed: number): Promise<Result> {
  const start = Date.now();
  const found: Failed[] = [];
  let done = 0;
  for (let attempt = 0; done < inputs && attempt < 5; attempt += 1) {
    const {
      tried: some,
      failures: failed,
      isComplete,
    } = await oneThread({ target: name, inputs: inputs - done, seed: seed + attempt * 1_000_003 });
    done += some;
    found.push(...failed);
    if (isComplete) break;
  }
  return { name, tried: done, failures: found, seconds: (Date.now() - start) / 1_000 };
}

function oneThread(
  work: Omit<ThreadWork, "shared">,
): Promise<{ tried: number; failures: readonly Failed[]; isComplete: boolean }> {
  const shared = new SharedArrayBuffer(HEAD_BYTES + LARGEST_INPUT);
  const head = new Int32Array(shared, 0, 2);
  const thread = new Worker(new URL("./thread.ts", import.meta.url), {
    workerData: { ...work, shared } satisfies ThreadWork,
  });
  return new Promise((resolve) => {
    let last = -1;
    const given = (error: string) => {
      clearInterval(timer);
      void thread.terminate();
      const input = Buffer.from(new Uint8Array(shared, HEAD_BYTES, Atomics.load(head, 1)).slice());
      resolve({ tried: Atomics.load(head, 0), failures: [{ input, error }], isComplete: false });
    };
    const timer = setInterval(() => {
      const count = Atomics.load(head, 0);
      if (count === last) given(`it did not end within ${SILENCE_MS / 1_000} s`);
      last = count;
    }, SILENCE_MS);
    thread.on("error", (error) => given(`the thread ended: ${error.stack ?? error.message}`));
    thread.on(
      "message",
      ({ tried: some, failures: failed }: { tried: number; failures: { input: Uint8Array; error: string }[] }) => {
        clearInterval(timer);
        resolve({
          tried: some,
          failures: failed.map(({ input, error }) => ({ input: Buffer.from(input), error })),
          isComplete: true,
        });
      },
    );
  });
}
