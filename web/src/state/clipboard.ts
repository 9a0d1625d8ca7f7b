import { showToast } from "./toast.ts";

/** Copies a text and confirms it. Browsers offer the clipboard only over HTTPS and on localhost. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied");
  } catch {
    showToast("The browser does not allow copying here: open the dashboard over HTTPS or on localhost.", {
      isError: true,
    });
  }
}
