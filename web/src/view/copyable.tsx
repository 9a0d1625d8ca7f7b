import { visible } from "../data/text.ts";
import { copyText } from "../state/clipboard.ts";

/** A text with a button that copies it. */
export function Copyable(props: { text: string }) {
  return (
    <>
      <code>{visible(props.text)}</code>{" "}
      <button
        type="button"
        class="quiet small"
        aria-label={`Copy ${props.text}`}
        onClick={() => void copyText(props.text)}
      >
        copy
      </button>
    </>
  );
}
