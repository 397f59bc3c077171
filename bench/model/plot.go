package model

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The page, in points: a title, the panels in a row, the legend below them.
const (
	pageWidth    = 960
	pageHeight   = 470
	titleHeight  = 48
	legendHeight = 78
)

// style is how a design is drawn. The colours are Okabe and Ito's, safe for the colour-blind;
// where lines coincide, a wide one below shows on both sides of a narrow one above.
type style struct {
	color color.RGBA
	width vg.Length
	dash  []vg.Length
}

func (s style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dash}
}

var styles = map[string]style{
	"mutex":    {color.RGBA{0, 0, 0, 255}, 1.6, nil},
	"atomic":   {color.RGBA{213, 94, 0, 255}, 1.6, nil},
	"exact/1":  {color.RGBA{0, 114, 178, 255}, 1.6, []vg.Length{2, 2}},
	"exact/16": {color.RGBA{0, 114, 178, 255}, 1.6, []vg.Length{7, 3}},
	"exact/64": {color.RGBA{0, 114, 178, 255}, 1.6, nil},
	"relaxed":  {color.RGBA{0, 158, 115, 255}, 2.8, nil},
	"stale":    {color.RGBA{230, 159, 0, 255}, 5, nil},
}

// WriteSVG draws throughput against cores, a panel for each share of reads, both axes logarithmic.
func (p Params) WriteSVG(w io.Writer, cores []int, reads []float64) error {
	svg := vgsvg.New(pageWidth, pageHeight)
	page := draw.New(svg)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())

	panels := make([]*plot.Plot, len(reads))
	for i, r := range reads {
		panel, err := p.panel(cores, r)
		if err != nil {
			return err
		}
		panels[i] = panel
	}
	p.drawTitle(draw.Crop(page, 12, -12, pageHeight-titleHeight, -8))
	tiles := draw.Tiles{Rows: 1, Cols: len(reads), PadX: 20, PadLeft: 8, PadRight: 12}
	body := draw.Crop(page, 0, 0, legendHeight, -titleHeight)
	for i, panel := range panels {
		drawPanel(tiles.At(body, i, 0), panel)
	}
	drawLegend(draw.Crop(page, 70, -20, 0, legendHeight-pageHeight-8))
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	// The font that the texts are measured in, and those of its widths where it is not installed.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

func (p Params) drawTitle(c draw.Canvas) {
	sty := textStyle(15)
	sty.YAlign = draw.YTop
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y},
		"Model, not a measurement: throughput of one hot counter by cores and share of reads")
	sty.Font.Size = 10
	c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y - 20}, fmt.Sprintf(
		"a line's move: %s, as published; P: commands in a pipeline; one key, loops never idle, "+
			"GETs at random places", p.Line.What))
}

// textStyle is a sans serif, left-aligned text.
func textStyle(size vg.Length) draw.TextStyle {
	sty := plot.New().Title.TextStyle
	sty.Font.Variant, sty.Font.Size, sty.XAlign = "Sans", size, draw.XLeft
	return sty
}

// drawLegend names the designs in columns of three.
func drawLegend(c draw.Canvas) {
	const rows, columnWidth = 3, 280
	var columns []plot.Legend
	for i, d := range Designs() {
		if i%rows == 0 {
			l := plot.NewLegend()
			l.Top, l.Left, l.ThumbnailWidth, l.Padding = true, true, 34, 6
			l.TextStyle.Font.Variant, l.TextStyle.Font.Size = "Sans", 11
			columns = append(columns, l)
		}
		columns[i/rows].Add(d.Name, &plotter.Line{LineStyle: styles[d.Short].line()})
	}
	circle := &plotter.Scatter{GlyphStyle: ring(styles["exact/64"].color), XYs: plotter.XYs{{}}}
	columns[len(columns)-1].Add("measured: one and two loops, no reads", circle)
	for i := range columns {
		columns[i].Draw(draw.Crop(c, vg.Length(i*columnWidth), 0, 0, 0))
	}
}

// drawPanel draws a panel and the labels of its axes. The plot's own labels would leave half of
// their length free beyond the axes' ends.
func drawPanel(c draw.Canvas, panel *plot.Plot) {
	inner := draw.Crop(c, 18, 0, 18, 0)
	panel.Draw(inner)
	data, sty := panel.DataCanvas(inner), textStyle(11)
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YBottom
	c.FillText(sty, vg.Point{X: data.Center().X, Y: c.Min.Y + 2}, "cores (one event loop each)")
	sty.Rotation, sty.YAlign = math.Pi/2, draw.YTop
	c.FillText(sty, vg.Point{X: c.Min.X, Y: data.Center().Y}, "commands per second")
}

// panel draws all designs at one share of reads.
func (p Params) panel(cores []int, reads float64) (*plot.Plot, error) {
	panel := plot.New()
	panel.Title.Text = "reads " + percent(reads)
	panel.X.Scale, panel.Y.Scale = plot.LogScale{}, plot.LogScale{}
	panel.Title.TextStyle, panel.Title.TextStyle.XAlign = textStyle(12), draw.XCenter
	for _, axis := range []*plot.Axis{&panel.X, &panel.Y} {
		axis.Tick.Label.Font.Variant, axis.Tick.Label.Font.Size = "Sans", 9
	}
	var ticks []plot.Tick
	for _, n := range cores {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	panel.X.Tick.Marker, panel.Y.Tick.Marker = plot.ConstantTicks(ticks), plot.ConstantTicks(decades)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	panel.Add(grid)
	for _, d := range slices.Backward(Designs()) { // the wide ones first
		if err := p.addDesign(panel, d, cores, reads); err != nil {
			return nil, err
		}
	}
	panel.X.Min, panel.X.Max = float64(cores[0])*0.9, float64(cores[len(cores)-1])*1.1
	panel.Y.Min, panel.Y.Max = decades[0].Value, decades[len(decades)-1].Value
	return panel, nil
}

// decades are the ticks of throughput.
var decades = []plot.Tick{
	{Value: 1e5, Label: "100 k"}, {Value: 1e6, Label: "1 M"}, {Value: 1e7, Label: "10 M"},
	{Value: 1e8, Label: "100 M"}, {Value: 1e9, Label: "1 G"},
}

// addDesign adds a design's line and, where nothing reads, its measured points.
func (p Params) addDesign(panel *plot.Plot, d Design, cores []int, reads float64) error {
	var points plotter.XYs
	for _, n := range between(cores[0], cores[len(cores)-1]) {
		points = append(points, plotter.XY{X: float64(n), Y: p.Throughput(d, n, reads)})
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.LineStyle = styles[d.Short].line()
	panel.Add(line)
	if reads > 0 {
		return nil
	}
	var measured plotter.XYs
	for _, m := range p.Measured(d) {
		measured = append(measured, plotter.XY{X: float64(m.Cores), Y: m.Rate})
	}
	if len(measured) == 0 {
		return nil
	}
	circles, err := plotter.NewScatter(measured)
	if err != nil {
		return err
	}
	circles.GlyphStyle = ring(line.Color)
	panel.Add(circles)
	return nil
}

// ring marks what was measured.
func ring(c color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3.5, Shape: draw.RingGlyph{}}
}

// between returns core counts from first to last, up to four for each doubling.
func between(first, last int) []int {
	var all []int
	for f := float64(first); f < float64(last); f *= math.Sqrt(math.Sqrt2) {
		if n := int(math.Round(f)); len(all) == 0 || n > all[len(all)-1] {
			all = append(all, n)
		}
	}
	return append(all, last)
}
