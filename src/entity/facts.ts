/** A line about an entity; without a value it is not shown. A status may be coloured. */
export type Fact = readonly [name: string, value: string | undefined, is?: 'status']

export const onOff = (on: boolean): string => (on ? 'on' : 'off')

/** As JSON for machines: `plainLine` is named plain_line, and what is absent is null. */
export const jsonOf = (facts: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [name.replace(/[A-Z]/g, '_$&').toLowerCase(), value ?? null]))
