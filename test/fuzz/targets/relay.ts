/** Events and responses of a followed server. */

import { relayedProvider } from "../../../src/app/relay/relayed.ts";
import type { RelayResponse, Step } from "../../../src/core/ports/provider.ts";
import { parseJson } from "../../../src/core/tools/json.ts";
import { followed } from "../../support/opencode-server.ts";
import { mutated, mutatedJson } from "../mutate.ts";
import { require, requirePlain, type Target } from "../target.ts";

const MAX_STEPS = 5_000;

/**
 * An input is lines: frames, and responses that begin with `<status> `. Requests get the responses in turn,
 * repeatedly.
 */
export const relayTarget: Target = {
  name: "relay",
  weight: 6,
  open: () => {
    const { frames, rest } = followed("nested");
    const bodies = Object.values(rest);
    const { relay } = relayedProvider("opencode");
    return {
      generate: (random) => {
        const line = (value: unknown) =>
          random.chance(0.2)
            ? mutated(Buffer.from(JSON.stringify(value)), random)
            : random.chance(0.7)
              ? mutatedJson(value, random)
              : Buffer.from(JSON.stringify(value));
        const lines = Array.from({ length: 1 + random.below(6) }, () =>
          random.chance(0.6)
            ? line(parseJson(random.of(frames))?.value)
            : Buffer.concat([
                Buffer.from(random.of(["200 ", "200 ", "200 ", "404 ", "500 ", "401 "])),
                line(random.of(bodies)),
              ]),
        );
        return Buffer.concat(lines.flatMap((one) => [one, Buffer.from("\n")]));
      },
      check: (input) => {
        const follower = relay?.follow();
        require(follower !== undefined, "a relay");
        const responses: RelayResponse[] = [];
        for (const line of input.toString().split("\n")) {
          const [, status, body = ""] = /^(\d{3}) (.*)$/s.exec(line) ?? [];
          if (status === undefined) checkName(follower.received(parseJson(line)?.value));
          else responses.push({ status: Number(status), body: parseJson(body)?.value, asked: 1 });
        }
        for (const gap of [true, false]) {
          let asked = 0;
          let kept = 0;
          const steps = follower.catchUp(gap);
          for (let next: IteratorResult<Step, boolean> = steps.next(); next.done !== true; ) {
            const step = next.value;
            if ("ask" in step) {
              require(step.ask.startsWith("/") && !/[\s\p{Cc}]/u.test(step.ask), "a path to ask for", step.ask);
              next = steps.next(responses[asked++ % Math.max(1, responses.length)] ?? null);
            } else {
              // It is written as JSON: a number that is too large for it becomes null.
              requirePlain(JSON.parse(JSON.stringify(step.keep)), "what is kept");
              checkName(step.in);
              kept += 1;
              next = steps.next(null);
            }
            require(asked < MAX_STEPS && kept < MAX_STEPS * 4, "questions come to an end", { asked, kept });
          }
        }
      },
    };
  },
};

function checkName(name: string | null): void {
  require(name === null || /^[\w-]{1,200}$/.test(name), "the name of a recording is a file name", name);
}
