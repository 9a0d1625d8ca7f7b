/** Open live streams while people and tokens come and go. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://cccccccc-0000-4000-8000-00000000000${n}`;
let team: TestTeam;
beforeAll(async () => {
  team = await startTeam(1, undefined, { recheckMs: 20 });
  await team.ship(await team.token("ann", "ship", "core"), [agentDocument(thread(1), thread(1), 1)]);
});
afterAll(() => team.close());

/** A stream after its first message. */
async function opened(token: string, query = "") {
  const response = await team.get(`/api/live?threads=true${query}`, token);
  const parts = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  /** Reads until it has this text, or to the end. */
  const until = async (text: string | null) => {
    while (text === null || !seen.includes(text)) {
      const part = await parts?.read();
      if (part === undefined || part.done) break;
      seen += part.value;
    }
    return seen;
  };
  expect(await until("\n\n")).toContain("event: ready");
  return { until, close: async () => parts?.cancel() };
}
const reader = (...teams: string[]) =>
  team.store.tokens.create({ owner: "lead", scope: "read", teams, expiresAt: null });

describe("an open stream", () => {
  it("ends when a person joins its team; the next one continues with what that person has shipped", async () => {
    const { token } = await reader("core");
    const { headers } = await team.get("/api/threads", token);
    const stream = await opened(token);
    await team.ship(await team.token("bob", "ship", "core"), [agentDocument(thread(2), thread(2), 1)]);
    expect(await stream.until(null)).not.toContain(thread(2));
    const next = await opened(token, `&after=${encodeURIComponent(headers.get("retinue-live") ?? "")}`);
    expect(await next.until(thread(2))).toContain("event: agent");
    await next.close();
  });
});
