package openai
import "testing"
func TestSeeds(t *testing.T) {
	r := new(Request)
	for api := APINone; api <= APIRerank; api++ {
		for _, body := range seedBodies {
			checkAgainstOracle(t, r, api, []byte(body))
		}
	}
}
