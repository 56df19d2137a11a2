/**
 * Says on standard error what is under way; a terminal shows each line in the place of the one
 * before.
 */
export interface Progress {
  say(text: string): void
  /** More about the line said last; only a terminal shows it. */
  add(text: string): void
  /** Takes the line away, so that what is printed next stands alone. */
  clear(): void
}

export function openProgress(): Progress {
  const { stderr } = process
  const show = (text: string) => stderr.write(`\r\u001B[K${text}`)
  let said = ''
  return {
    say(text) {
      said = `- ${text} …`
      if (stderr.isTTY) show(said)
      else stderr.write(`${said}\n`)
    },
    add(text) {
      if (stderr.isTTY) show(`${said} ${text}`)
    },
    clear() {
      if (stderr.isTTY) show('')
    },
  }
}
