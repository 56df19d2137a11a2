export interface Metrics {
  (name: string): number | undefined
  names(): string[]
}

/**
 * The metrics of a gateway, read once: `metric('tollgate_gate_up{gate="7"}')` is
 * its figure, or nothing where it is not there; `names` lists all.
 */
export async function metricsOf({ operatorUrl }: { operatorUrl: string }): Promise<Metrics> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text()
  const figures = new Map<string, number>()
  for (const line of text.split('\n')) {
    const end = line.lastIndexOf(' ')
    if (!line.startsWith('#') && end > 0) figures.set(line.slice(0, end), Number(line.slice(end + 1)))
  }
  return Object.assign((name: string) => figures.get(name), { names: () => [...figures.keys()] })
}
