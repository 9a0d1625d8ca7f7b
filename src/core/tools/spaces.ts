/** Every run of white space that is not a single space. Matching the others, too, would rebuild the whole text. */
const OTHER_SPACES = /[^\S ]\s*| \s+/g;

/** With single spaces between words, and none at the ends. */
export const singleSpaced = (text: string): string => text.replace(OTHER_SPACES, " ").trim();
