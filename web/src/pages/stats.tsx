export default function Stats() {
  return <p>x</p>;
}
