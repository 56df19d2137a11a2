/** A line about an entity; without a value it is not shown. A status may be coloured. */
export type Fact = readonly [name: string, value: string | undefined, is?: 'status']

export const onOff = (on: boolean): string => (on ? 'on' : 'off')
