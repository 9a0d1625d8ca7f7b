import type { RunTracker } from "../../core/ports/control.ts";

/** How long to wait for a turn that is expected to begin by itself, such as after the end of a background agent. */
const RESUME_MS = 15_000;

/** Tracks whether a run only waits for input. A turn that is expected to begin by itself is waited for. */
export class Idle {
  readonly tracker: RunTracker;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | null = null;
  #isOverdue = false;

  constructor(tracker: RunTracker, onIdle: () => void) {
    this.tracker = tracker;
    this.#onIdle = onIdle;
  }

  get isIdle(): boolean {
    return this.tracker.state === "idle" || this.#isOverdue;
  }

  sent(): void {
    this.tracker.sent();
    this.#settle();
  }

  onLine(line: string): void {
    const before = this.tracker.state;
    this.tracker.onLine(line);
    if (this.tracker.state !== before) this.#settle();
  }

  #settle(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isOverdue = false;
    if (this.tracker.state === "idle") this.#onIdle();
    if (this.tracker.state !== "resuming") return;
    this.#timer = setTimeout(() => {
      this.#isOverdue = true;
      this.#onIdle();
    }, RESUME_MS).unref();
  }
}
