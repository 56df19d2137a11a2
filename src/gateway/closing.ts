/** Everything that is open, the newest first. It is closed at the end, or if a start fails. */
export type Closing = ReturnType<typeof openClosing>

function openClosing() {
  const closes: (() => unknown)[] = []
  return {
    add: (close: () => unknown): void => void closes.push(close),
    async close(): Promise<void> {
      for (const one of closes.splice(0).reverse()) await one()
    },
  }
}

/** The additions of `open` are closed again if it fails. */
export async function closingOnFailure<T>(open: (closing: Closing) => Promise<T>): Promise<T> {
  const closing = openClosing()
  try {
    return await open(closing)
  } catch (error) {
    await closing.close()
    throw error
  }
}
