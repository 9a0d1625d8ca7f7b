import { noticesOf } from "../data/board.ts";
import { oneLine } from "../data/text.ts";
import { useCards } from "../state/board.ts";
import { go } from "../state/navigation.ts";

/** Shows a desktop notification when an agent of a card waits for a person, or the card has ended. */
export default function Notices() {
  useCards((before, now) => {
    for (const { card, title, text } of noticesOf(before, now)) {
      const notice = new Notification(oneLine(title, 80), { body: oneLine(text, 200), tag: `retinue ${card}` });
      notice.onclick = () => {
        window.focus();
        go("card", card);
        notice.close();
      };
    }
  });
  return null;
}
