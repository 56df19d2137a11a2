/**
 * The metrics of the gateway at this address, read once: `metric('tollgate_gate_up{gate="7"}')` is
 * its figure, or nothing where it is not there.
 */
export async function metricsOf({ baseUrl }: { baseUrl: string }): Promise<(name: string) => number | undefined> {
  const text = await (await fetch(`${new URL(baseUrl).origin}/metrics`)).text()
  const figures = new Map<string, number>()
  for (const line of text.split('\n')) {
    const end = line.lastIndexOf(' ')
    if (!line.startsWith('#') && end > 0) figures.set(line.slice(0, end), Number(line.slice(end + 1)))
  }
  return (name) => figures.get(name)
}
