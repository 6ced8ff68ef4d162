package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// [verify]

// isGenuine tells whether the service signed this body, within the last five minutes.
func isGenuine(key []byte, header http.Header, body []byte) bool {
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-seconds)) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), []byte(expected)) {
			return true
		}
	}
	return false
}

// [/verify]

func main() {
	secret := strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_")
	key, err := base64.StdEncoding.DecodeString(secret)
	if err != nil {
		log.Fatal(err)
	}
	var seen sync.Map // in production: a table with a unique index on the event id
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // the exact bytes, before any parser
		if err != nil || !isGenuine(key, r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct {
			ID   string
			Type string
			Data struct{ Object json.RawMessage }
		}
		if err := json.Unmarshal(body, &event); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(event.ID, true); !known {
			fmt.Println("handle", event.Type, string(event.Data.Object))
		}
		w.WriteHeader(http.StatusNoContent)
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe(":"+port, nil))
}
