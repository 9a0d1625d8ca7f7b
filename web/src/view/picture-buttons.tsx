/** Zoom in, zoom out and reset, for all pictures. */
export function PictureButtons(props: {
  /** Zoom factor of one click. */
  by: number;
  onZoom: (factor: number) => void;
  onAll: () => void;
  isAll: boolean;
}) {
  return (
    <div class="picture-buttons">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => props.onZoom(props.by)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => props.onZoom(1 / props.by)}>
        −
      </button>
      <button
        type="button"
        aria-label="Show all"
        title="Show all (0)"
        onClick={() => props.onAll()}
        disabled={props.isAll}
      >
        All
      </button>
    </div>
  );
}
