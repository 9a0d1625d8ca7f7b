import { formatUri } from "../../core/facts/uri.ts";
import type { AnnouncedCall, Interception, ToolCall, ToolDecision } from "../../core/ports/control.ts";
import { exactMs } from "../../core/tools/format.ts";

/** Decides about tool calls of a run before they run. Several may be active at once. */
export interface Interceptor {
  /** It decides only about calls that spawn agents. */
  readonly spawnsOnly?: true;
  /**
   * Must not take long: the agent waits. An interceptor that throws, or does not answer in time, has no effect on the
   * call.
   */
  decide(call: ToolCall): ToolDecision | Promise<ToolDecision>;
}

export interface InterceptionOptions {
  readonly interceptors: readonly Interceptor[];
  /** How long each interceptor may take. */
  readonly answerMs?: number;
  /** An interceptor failed or was late, as a sentence. */
  readonly onFault?: (text: string) => void;
}

export const ANSWER_MS = 30_000;

/**
 * Asks the interceptors in order. The first denial decides. A changed input is what the next interceptor sees, and the
 * last one is used.
 */
export async function decide(
  call: ToolCall,
  { interceptors, answerMs = ANSWER_MS, onFault = () => {} }: InterceptionOptions,
): Promise<ToolDecision> {
  let decided: ToolDecision = "allow";
  for (const interceptor of interceptors) {
    if (interceptor.spawnsOnly === true && !call.isSpawn) continue;
    const current: ToolCall = typeof decided === "object" && "input" in decided ? { ...call, ...decided } : call;
    const decision = await within(answerMs, () => interceptor.decide(current), onFault);
    if (decision === "allow") continue;
    if ("deny" in decision) return decision;
    decided = decision;
  }
  return decided;
}

const LATE = Symbol("late");

/** The decision of one interceptor; "allow" if it fails or is late. */
async function within(
  answerMs: number,
  ask: () => ToolDecision | Promise<ToolDecision>,
  onFault: (text: string) => void,
): Promise<ToolDecision> {
  const late = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(() => late.resolve(LATE), answerMs);
  try {
    const decision = await Promise.race([Promise.resolve(ask()), late.promise]);
    if (decision === LATE)
      onFault(`a tool call was allowed because its decision took longer than ${exactMs(answerMs)}`);
    else if (isDecision(decision)) return decision;
    else onFault("a tool call was allowed because its decision is not one of allow, deny and input");
  } catch (error) {
    onFault(`a tool call was allowed because deciding about it failed: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
  }
  return "allow";
}

/** Checks the result of a handler, which is a user's code and may be untyped. */
function isDecision(decision: unknown): decision is ToolDecision {
  if (decision === "allow") return true;
  if (typeof decision !== "object" || decision === null) return false;
  if ("deny" in decision) return typeof decision.deny === "string";
  return "input" in decision && typeof decision.input === "object" && decision.input !== null;
}

/** The stdin of the run. */
interface Input {
  write(line: string): boolean;
  setFinalInput(lines: readonly string[]): void;
}

/** Announced calls of one run: asks the interceptors and answers the product. */
export class AnnouncedCalls {
  readonly #provider: string;
  readonly #product: Interception;
  readonly #options: InterceptionOptions;
  readonly #input: Input;
  /** Calls that wait for a decision, by call id. */
  readonly #waiting = new Map<string, { readonly request: string; readonly deny: (text: string) => void }>();
  /** Called with each answer, for the recording. */
  readonly #onAnswer: (line: string) => void;

  constructor(
    provider: string,
    product: Interception,
    options: InterceptionOptions,
    input: Input,
    onAnswer: (line: string) => void,
  ) {
    this.#provider = provider;
    this.#product = product;
    this.#options = options;
    this.#input = input;
    this.#onAnswer = onAnswer;
  }

  begin(): void {
    const { interceptors, answerMs = ANSWER_MS } = this.#options;
    const { line } = this.#product.begin({
      spawnsOnly: interceptors.every(({ spawnsOnly }) => spawnsOnly === true),
      // Longer than all of them together: a call that the product gives up on does not run.
      answerMs: answerMs * (interceptors.length + 1),
    });
    this.#keepAlive();
    this.#input.write(line);
  }

  /** Call before stdin is closed. Calls that still wait are allowed. */
  end(): void {
    for (const line of this.#lastLines()) this.#input.write(line);
    this.#waiting.clear();
  }

  onLine(line: string): void {
    const announced = this.#product.announcedIn(line);
    if (announced !== null) void this.#answer(announced);
  }

  /** Denies a call that waits, with this text. False if it does not wait. */
  deny(callId: string, text: string): boolean {
    const waiting = this.#waiting.get(callId);
    waiting?.deny(text);
    return waiting !== undefined;
  }

  async #answer({ request, call }: AnnouncedCall): Promise<void> {
    const denied = Promise.withResolvers<ToolDecision>();
    this.#waiting.set(call.callId, { request, deny: (deny) => denied.resolve({ deny }) });
    this.#keepAlive();
    const uri = formatUri(this.#provider, call.sessionId, call.agentId);
    const decision = await Promise.race([decide({ ...call, uri }, this.#options), denied.promise]);
    if (this.#waiting.get(call.callId)?.request !== request) return;
    this.#waiting.delete(call.callId);
    const line = this.#product.answer(request, decision);
    this.#onAnswer(line);
    this.#input.write(line);
    this.#keepAlive();
  }

  /** If this process is killed, waiting calls are allowed and no more are announced. */
  #keepAlive(): void {
    this.#input.setFinalInput(this.#lastLines());
  }

  #lastLines(): readonly string[] {
    const allowed = [...this.#waiting.values()].map(({ request }) => this.#product.answer(request, "allow"));
    return [...allowed, this.#product.end().line];
  }
}
