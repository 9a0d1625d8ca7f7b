import { createSignal, onMount, Show } from "solid-js";
import { api } from "../state/server.ts";

/** Asks for a token of a team server, which exchanges it for an HTTP-only cookie, and returns to the page. */
export default function SignIn() {
  let field: HTMLInputElement | undefined;
  const [error, setError] = createSignal("");
  onMount(() => field?.focus());
  document.title = "Sign in · retinue";
  const signIn = async (token: string) => {
    setError("");
    try {
      await api.openSession(token);
      location.reload();
    } catch (failure) {
      setError((failure as Error).message);
      field?.select();
    }
  };
  return (
    <main class="nothing sign-in" data-testid="sign-in">
      <h1 class="brand">
        <img src="./icon.svg" alt="" width="26" height="26" />
        retinue
      </h1>
      <p id="sign-in-hint">
        Enter a token with scope <b>read</b> or <b>admin</b>; an administrator of this team server creates one with{" "}
        <code>retinue token create</code> (docs/team.md).
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const token = field?.value.trim() ?? "";
          if (token !== "") void signIn(token);
        }}
      >
        <input
          ref={field}
          type="password"
          name="token"
          aria-label="Token"
          aria-describedby="sign-in-hint"
          aria-invalid={error() !== ""}
          placeholder="rtn_…"
          maxlength="200"
          autocomplete="off"
        />
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <Show when={error()}>
        {(text) => (
          <p class="bad" role="alert">
            {text()}
          </p>
        )}
      </Show>
    </main>
  );
}
