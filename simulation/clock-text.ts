/** Minutes, seconds and milliseconds since the start. */
export const clockText = (ms: number): string => {
  const text = `${Math.floor(ms / 60_000)}:${String(Math.floor((ms / 1_000) % 60)).padStart(2, '0')}.${String(Math.floor(ms % 1_000)).padStart(3, '0')}`
  return text.padStart(10)
}
