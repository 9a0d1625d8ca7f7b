/** One target in a separate thread, which can be terminated if an input never ends. */
import { parentPort, workerData } from "node:worker_threads";
import { campaign } from "./campaign.ts";
import { TARGETS } from "./targets.ts";

export interface ThreadWork {
  readonly target: string;
  readonly inputs: number;
  readonly seed: number;
  /** How many inputs were started, the length of the last one, and its bytes. */
  readonly shared: SharedArrayBuffer;
}

export const HEAD_BYTES = 8;

if (parentPort !== null) {
  const { target: name, inputs, seed, shared } = workerData as ThreadWork;
  const head = new Int32Array(shared, 0, 2);
  const bytes = new Uint8Array(shared, HEAD_BYTES);
  const target = await TARGETS.find((one) => one.name === name)?.open();
  if (target === undefined) throw new Error(`no target ${name}`);
  const onInput = (input: Buffer) => {
    const length = Math.min(input.length, bytes.length);
    bytes.set(input.subarray(0, length));
    Atomics.store(head, 1, length);
    Atomics.add(head, 0, 1);
  };
  const result = await campaign(target, { inputs, seed, onInput });
  await target.close?.();
  parentPort.postMessage(result);
}
