/**
 * Sends its stdin to the process that runs the product, and prints the answer. Runs as a hook of the product: whatever
 * fails, it prints nothing and succeeds, so that the call runs.
 */
import { MAX_NOTE } from "../../core/tools/limits.ts";
import { readInput } from "../../transports/bounded.ts";
import { readText } from "../../transports/regular.ts";

try {
  const { url, token } = JSON.parse(readText(process.argv[2] ?? "", MAX_NOTE)) as { url: string; token: string };
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: readInput() ?? "",
  });
  const text = await response.text();
  if (response.ok && text !== "{}") process.stdout.write(text);
} catch {
  // The process has ended, or its files are gone.
}
