import { apiOf } from "./read-request.ts";

const RESPONSES = new URL("https://api.openai.com");
const MESSAGES = new URL("https://api.anthropic.com");

/** The API's own address, used if no upstream is given. */
export function ownUpstream(method: string, path: string, headers: readonly string[]): URL {
  const names = headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const isMessages = names.includes("anthropic-version") || names.includes("x-api-key");
  const isOther =
    apiOf(method, path) === "responses" ||
    names.some((name) => name.startsWith("openai-")) ||
    /\/(chat\/completions|responses)\b/.test(path);
  return isOther && !isMessages ? RESPONSES : MESSAGES;
}
