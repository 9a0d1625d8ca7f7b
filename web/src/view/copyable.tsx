import { visible } from "../data/text.ts";
import { showToast } from "../state/toast.ts";

/** A text with a button that copies it. */
export function Copyable(props: { text: string }) {
  return (
    <>
      <code>{visible(props.text)}</code>{" "}
      <button
        type="button"
        class="quiet small"
        aria-label={`Copy ${props.text}`}
        onClick={() => void navigator.clipboard.writeText(props.text).then(() => showToast("Copied"))}
      >
        copy
      </button>
    </>
  );
}
