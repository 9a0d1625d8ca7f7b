import { afterEach, expect, it } from "vitest";
import { stopSignal } from "./output.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type Listeners = ReadonlyMap<NodeJS.Signals, readonly NodeJS.SignalsListener[]>;

const listeners = (): Listeners => new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]));

const others = listeners();
const added = (signal: NodeJS.Signals) =>
  process.listeners(signal).filter((listener) => others.get(signal)?.includes(listener) !== true);

afterEach(() => {
  for (const signal of SIGNALS) for (const listener of added(signal)) process.off(signal, listener);
});

it.each(SIGNALS)("%s stops a command that runs until it is interrupted", (name) => {
  const signal = stopSignal();
  expect(signal.aborted).toBe(false);
  for (const listener of added(name)) listener(name);
  expect(signal.aborted).toBe(true);
});
