package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// [call]
var server = "http://127.0.0.1:8080"
var client = &http.Client{Timeout: 30 * time.Second}

// Refusal is a refusal of the service: branch on Code, never on the text.
type Refusal struct {
	Code, Detail, RequestID string
	Retryable               bool
	RetryAfter              time.Duration `json:"-"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s (request %s)", r.Code, r.Detail, r.RequestID)
}

func send(method, path, token string, body any, key string, data any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, server+path, &content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		refusal := &Refusal{RetryAfter: time.Second}
		if err := json.NewDecoder(response.Body).Decode(refusal); err != nil {
			return err
		}
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
			refusal.RetryAfter = time.Duration(seconds) * time.Second
		}
		return refusal
	}
	return json.NewDecoder(response.Body).Decode(&struct{ Data any }{data})
}

// call repeats a request while its outcome is not known; with a key it is done once.
func call(method, path, token string, body any, key string, data any) error {
	for attempt := 1; ; attempt++ {
		err := send(method, path, token, body, key, data)
		var refusal *Refusal
		isRefusal := errors.As(err, &refusal)
		if err == nil || attempt == 5 || isRefusal && !refusal.Retryable {
			return err
		}
		if isRefusal {
			time.Sleep(refusal.RetryAfter)
		} else {
			time.Sleep(time.Duration(attempt) * time.Second)
		}
	}
}

// [/call]

// [token]

// getToken: keep the token for a little less than expires_in seconds, then get another one.
func getToken(clientID, clientSecret string) (string, error) {
	form := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {clientID},
		"client_secret": {clientSecret},
	}
	response, err := client.PostForm(server+"/oauth/token", form)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Token  string `json:"access_token"`
		Reason string `json:"error_description"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Token == "" {
		return "", errors.New(answer.Reason)
	}
	return answer.Token, nil
}

// [/token]

func main() {
	if address := os.Getenv("PAY_SERVER"); address != "" {
		server = address
	}
	shopOrder := os.Getenv("SHOP_ORDER")
	if shopOrder == "" {
		shopOrder = "1001"
	}
	token, err := getToken(os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"))
	if err != nil {
		log.Fatal(err)
	}

	// [pay]
	var order struct{ OrderNo, Status, PayURL string }
	err = call("POST", "/api/v2/payment/pay", token, map[string]string{
		"subject": "Two coffees", "amount": "12.50",
		"payWay": "alipay", "merchantOrderNo": shopOrder,
	}, "pay-"+shopOrder, &order)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Please pay at", order.PayURL)
	// [/pay]

	// [query]
	for order.Status == "created" || order.Status == "pending" {
		time.Sleep(2 * time.Second)
		err := call("GET", "/api/v2/payment/query/"+order.OrderNo, token, nil, "", &order)
		if err != nil {
			log.Fatal(err)
		}
	}
	if order.Status != "paid" {
		log.Fatalf("The order is %s.", order.Status)
	}
	// [/query]

	// [refund]
	var refund struct {
		RefundNo, Status string
		RefundableAmount json.Number
	}
	err = call("POST", "/api/v2/payment/refund", token, map[string]string{
		"orderNo": order.OrderNo, "refundAmount": "2.50",
		"merchantRefundNo": shopOrder + "-1",
	}, "refund-"+shopOrder+"-1", &refund)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Refund %s is %s, %s left\n",
		refund.RefundNo, refund.Status, refund.RefundableAmount)
	// [/refund]
}
