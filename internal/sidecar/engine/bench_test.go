package engine

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// longPage is a vLLM page of some 60 KB, as a server has after a while: most of it histograms.
func longPage(t testing.TB) []byte {
	page := bytes.Clone(readPage(t, "vllm-lora.metrics"))
	for i := 0; len(page) < 60<<10; i++ {
		for _, bound := range []string{"0.1", "0.5", "1", "5", "10", "+Inf"} {
			page = append(page, `vllm:request_params_bucket{engine="0",model_name="m`+strconv.Itoa(i)+`",le="`+bound+
				`"} 17.0`+"\n"...)
		}
	}
	return page
}

// BenchmarkPage compares the scanner with a full parser of the format.
func BenchmarkPage(b *testing.B) {
	page := longPage(b)
	b.Run("scanner", func(b *testing.B) {
		p, s := NewParser(vllm), Sample{}
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			p.Parse(page, &s)
		}
	})
	b.Run("expfmt", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			parser := expfmt.NewTextParser(model.LegacyValidation)
			if _, err := parser.TextToMetricFamilies(bytes.NewReader(page)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
