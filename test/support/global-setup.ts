/** Runs once, before all tests, wherever they are: what several of them need, and only one at a time can install. */
import { browserPath } from "../dashboard/browser.ts";

export function setup(): void {
  try {
    browserPath();
  } catch {
    // Those that need one say what is missing; the others do without.
  }
}
