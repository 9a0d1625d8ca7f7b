import { createSignal, Show } from "solid-js";
import { api } from "../state/server.ts";

/** Asks for a token of a team server. The server exchanges it for an HTTP-only cookie. */
export function TokenEntry() {
  const [token, setToken] = createSignal("");
  const [error, setError] = createSignal("");
  const [isSending, setSending] = createSignal(false);
  const signIn = async () => {
    setSending(true);
    setError("");
    try {
      await api.openSession(token().trim());
      location.reload();
    } catch (failure) {
      setError((failure as Error).message);
      setSending(false);
    }
  };
  return (
    <div class="nothing first token-entry" data-testid="token-entry">
      <p class="big">This is a team server.</p>
      <p class="muted">
        Enter a token of scope read. An administrator creates it with <code>retinue token create</code>.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <input
          type="password"
          name="token"
          aria-label="Token"
          placeholder="rtn_…"
          size="30"
          autocomplete="off"
          autofocus
          onInput={(event) => setToken(event.currentTarget.value)}
        />{" "}
        <button type="submit" class="primary" disabled={isSending() || token().trim() === ""}>
          Sign in
        </button>
      </form>
      <Show when={error()}>
        <p class="bad" role="alert">
          {error()}
        </p>
      </Show>
    </div>
  );
}
