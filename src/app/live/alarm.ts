/**
 * A pause that can be ended early. (`Promise.race` with a promise that lasts as long as the process would keep memory
 * for every pause.)
 */
export class Alarm {
  #end: (() => void) | null = null;

  /** Ends the current pause, if there is one. */
  ring(): void {
    this.#end?.();
  }

  /** Null: until it rings. `isMinor`: it does not keep the process running. */
  async wait(ms: number | null, isMinor = false): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      if (ms !== null) timer = setTimeout(resolve, ms);
      if (isMinor) timer?.unref();
    });
    clearTimeout(timer);
    this.#end = null;
  }
}
