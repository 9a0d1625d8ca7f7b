/** Browsers limit the size of a canvas. */
const MAX_PNG_PX = 16_000;

/** Characters that are not allowed in XML, even escaped; the serializer does not remove them. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Downloads the whole drawing, not only the part in view. Returns the file name. */
export async function saveDrawing(
  drawing: SVGSVGElement,
  { width, height }: { readonly width: number; readonly height: number },
  as: "svg" | "png",
  title: string,
): Promise<string> {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copy.removeAttribute("class");
  copy.querySelector("[data-layer=all]")?.removeAttribute("transform");
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const background = copy.ownerDocument.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: getComputedStyle(drawing).backgroundColor }))
    background.setAttribute(name, String(value));
  copy.prepend(background);
  const text = new XMLSerializer().serializeToString(copy).replace(NOT_XML, "\ufffd");
  const blob = as === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await pngOf(text, width, height);
  const name = `${fileName(title)}.${as}`;
  download(blob, name);
  return name;
}

async function pngOf(svg: string, width: number, height: number): Promise<Blob> {
  const scale = Math.min(2, MAX_PNG_PX / Math.max(width, height));
  const image = new Image(width, height);
  // A data URL, because the content security policy blocks others.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("The browser cannot draw a picture this large. Save it as SVG.");
  return blob;
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (title: string) =>
  `retinue-${title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40)}`.replace(/-$/, "");
