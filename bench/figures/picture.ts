/** A picture of a run: sales a second and latency over what is kept in flight. */
import type { Line } from './compare.ts'

const width = 640
const panelHeight = 150
const left = 70
const right = 20
const top = 46
/** Between the two panels, with the title of the lower one. */
const gap = 70
/** Down to the names of the levels, past a figure below a point at zero. */
const toNames = 32

interface Point {
  inFlight: number
  value: number
}

interface Curve {
  name: string
  className: string
  points: readonly Point[]
}

/**
 * An SVG of the rows of one bench in a closed loop. Throws if there are fewer than two levels: one
 * point is a number, not a picture.
 */
export function pictureOf(lines: readonly Line[], bench = 'sale'): string {
  const rows = lines
    .filter((line) => line['bench'] === bench && typeof line['in_flight'] === 'number')
    .toSorted((a, b) => Number(a['in_flight']) - Number(b['in_flight']))
  if (rows.length < 2) throw new Error(`A picture needs rows of ${bench} at two levels of --in-flight; there are ${rows.length}.`)
  const curve = (name: string, className: string, figure: string): Curve => ({
    name,
    className,
    points: rows.flatMap((row) => {
      const value = row[figure]
      return typeof value === 'number' ? [{ inFlight: Number(row['in_flight']), value }] : []
    }),
  })
  const levels = rows.map((row) => Number(row['in_flight']))
  const second = top + panelHeight + gap
  const height = second + panelHeight + toNames + 26
  const label = `${bench}: sales a second and latency over sales in flight`
  const latency = [curve('final p99', 'b', 'final_p99_ms'), curve('accept p99', 'a', 'accept_p99_ms')]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<style>${style}</style>
<rect class="ground" width="${width}" height="${height}"/>
${panel(`${bench}: sales a second`, top, levels, [curve('', 'a', 'sales_per_s')])}
${panel('latency in milliseconds', second, levels, latency)}
<text class="note" x="${left + (width - left - right) / 2}" y="${height - 8}" text-anchor="middle">sales in flight</text>
</svg>
`
}

const style = `
svg { font: 12px system-ui, sans-serif }
.ground { fill: #fff } text { fill: #1f2328 } .note { fill: #59636e } .title { font-weight: 600 }
.grid { stroke: #d1d9e0 } path { fill: none; stroke-width: 2 }
path.a { stroke: #0969da } circle.a { fill: #0969da } path.b { stroke: #bc4c00 } circle.b { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #0d1117 } text { fill: #f0f6fc } .note { fill: #9198a1 } .grid { stroke: #3d444d }
  path.a { stroke: #4493f8 } circle.a { fill: #4493f8 } path.b { stroke: #f0883e } circle.b { fill: #f0883e }
}
`

/** One chart: its values begin at zero, and its levels stand side by side, whatever is between. */
function panel(title: string, y: number, levels: readonly number[], curves: readonly Curve[]): string {
  const most = roundUp(Math.max(1, ...curves.flatMap(({ points }) => points.map(({ value }) => value))))
  const xOf = (inFlight: number) => left + ((levels.indexOf(inFlight) + 0.5) / levels.length) * (width - left - right)
  const yOf = (value: number) => y + panelHeight * (1 - value / most)
  const grid = [0, most / 2, most].map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${at(yOf(value))}" y2="${at(yOf(value))}"/>` +
      `<text class="note" x="${left - 8}" y="${at(yOf(value) + 4)}" text-anchor="end">${text(value)}</text>`,
  )
  const names = levels.map(
    (level) => `<text class="note" x="${at(xOf(level))}" y="${y + panelHeight + toNames}" text-anchor="middle">${level}</text>`,
  )
  const drawn = curves.map(({ name, className, points }, i) => {
    const path = points.map(({ inFlight, value }, n) => `${n === 0 ? 'M' : 'L'}${at(xOf(inFlight))} ${at(yOf(value))}`).join('')
    // The lower curve has its figures below, so that they do not meet those of the upper one.
    const offset = i === 0 ? -8 : 17
    const marks = points.map(
      ({ inFlight, value }) =>
        `<circle class="${className}" cx="${at(xOf(inFlight))}" cy="${at(yOf(value))}" r="3.5"/>` +
        `<text x="${at(xOf(inFlight))}" y="${at(yOf(value) + offset)}" text-anchor="middle">${text(value)}</text>`,
    )
    const key =
      name === ''
        ? ''
        : `<circle class="${className}" cx="${width - right - 180 + 95 * i}" cy="${y - 22}" r="4"/>` +
          `<text x="${width - right - 172 + 95 * i}" y="${y - 18}">${name}</text>`
    return `<path class="${className}" d="${path}"/>${marks.join('')}${key}`
  })
  return [`<text class="title" x="${left}" y="${y - 18}">${title}</text>`, ...grid, ...names, ...drawn].join('\n')
}

/** The next 1, 2, 4, 5 or 8 with zeros behind it, so that the half of it is short too. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 5, 8, 10].map((n) => n * unit).find((n) => n >= value)!
}

const at = (coordinate: number): string => String(Math.round(coordinate * 10) / 10)
const text = (value: number): string => (value >= 10 ? value.toFixed(0) : String(Math.round(value * 10) / 10))
