import { openProgress, type Progress } from './progress.ts'

/** Where a run prints: progress on standard error, figures on standard output. */
export interface Output {
  progress: Progress
  /** Prints for people. */
  people(text: string): void
  /** Notes lines for programs, which come after all lines for people; with --json, immediately. */
  lines(...objects: readonly object[]): void
  /** Prints what was noted. */
  flush(): void
  /** All lines for programs until now. */
  all(): readonly object[]
}

export function openOutput(json: boolean): Output {
  const progress = openProgress()
  const noted: string[] = []
  const all: object[] = []
  function flush() {
    progress.clear()
    for (const one of noted.splice(0)) console.log(one)
  }
  return {
    progress,
    flush,
    all: () => all,
    people(text) {
      progress.clear()
      if (!json) console.log(text)
    },
    lines(...objects) {
      all.push(...objects)
      noted.push(...objects.map((object) => JSON.stringify(object)))
      if (json) flush()
    },
  }
}
