/**
 * Sends its stdin to the process that runs the product, and prints the answer. Runs as a hook of the product: whatever
 * fails, it prints nothing and succeeds, so that the call runs.
 */
import { readFileSync } from "node:fs";

try {
  const { url, token } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as { url: string; token: string };
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: readFileSync(0),
  });
  const text = await response.text();
  if (response.ok && text !== "{}") process.stdout.write(text);
} catch {
  // The process has ended, or its files are gone.
}
