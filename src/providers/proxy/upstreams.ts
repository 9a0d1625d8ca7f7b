import { apiOf } from "./read-request.ts";

const OPENAI = new URL("https://api.openai.com");
const ANTHROPIC = new URL("https://api.anthropic.com");

/** The public address of the API that a request is for, used if no upstream is given. */
export function ownUpstream(method: string, path: string, headers: readonly string[]): URL {
  const names = headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const isAnthropic = names.includes("anthropic-version") || names.includes("x-api-key");
  const isOpenAi =
    apiOf(method, path) === "responses" ||
    names.some((name) => name.startsWith("openai-")) ||
    /\/(chat\/completions|responses)\b/.test(path);
  return isOpenAi && !isAnthropic ? OPENAI : ANTHROPIC;
}
