/** Closer, further away, and back to all of it: for every picture one can look at from near. */
export function PictureButtons(props: { by: number; onZoom: (factor: number) => void; onAll: () => void; isAll: boolean }) {
  return (
    <div class="picture-buttons">
      <button type="button" aria-label="Closer" title="Closer (+)" onClick={() => props.onZoom(props.by)}>
        +
      </button>
      <button type="button" aria-label="Further away" title="Further away (-)" onClick={() => props.onZoom(1 / props.by)}>
        −
      </button>
      <button type="button" aria-label="All of it" title="All of it (0)" onClick={() => props.onAll()} disabled={props.isAll}>
        All
      </button>
    </div>
  );
}
