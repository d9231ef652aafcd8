// SPDX-License-Identifier: Apache-2.0

// One operation of sarama, the Go client, for sarama.py: its name and arguments come as JSON on the command line, its
// result goes to standard output as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/Shopify/sarama"
)

type header struct{ Key, Value []byte }

type record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []header
	Time       int64
}

type arguments struct {
	Kafka, Topic, Group, Codec, Metadata, Name, Value string
	Partition, Count                                  int32
	Offset, Time                                      int64
	Acks                                              int16
	Idempotent                                        bool
	Configs                                           map[string]*string
	Records                                           []record
}

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tell(value interface{}) { check(json.NewEncoder(os.Stdout).Encode(value)) }

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Session.Timeout = 3 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Metadata.Retry.Max = 50
	return config
}

func produce(a arguments, config *sarama.Config) {
	config.Producer.Compression = codecs[a.Codec]
	config.Producer.RequiredAcks = sarama.RequiredAcks(a.Acks)
	config.Producer.Idempotent = a.Idempotent
	if a.Idempotent {
		config.Net.MaxOpenRequests = 1
	}
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer([]string{a.Kafka}, config)
	check(err)
	var messages []*sarama.ProducerMessage
	for _, one := range a.Records {
		message := &sarama.ProducerMessage{
			Topic: a.Topic, Partition: one.Partition, Timestamp: time.Unix(one.Time/1000, one.Time%1000*1_000_000),
		}
		if one.Key != nil {
			message.Key = sarama.ByteEncoder(one.Key)
		}
		if one.Value != nil {
			message.Value = sarama.ByteEncoder(one.Value)
		}
		for _, pair := range one.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: pair.Key, Value: pair.Value})
		}
		messages = append(messages, message)
	}
	check(producer.SendMessages(messages))
	places := [][2]int64{}
	for _, message := range messages {
		places = append(places, [2]int64{int64(message.Partition), message.Offset})
	}
	tell(places)
	check(producer.Close())
}

func read(a arguments, client sarama.Client) {
	consumer, err := sarama.NewConsumerFromClient(client)
	check(err)
	partition, err := consumer.ConsumePartition(a.Topic, a.Partition, a.Offset)
	check(err)
	found := []record{}
	late := time.After(10 * time.Second)
	for int32(len(found)) < a.Count {
		select {
		case message := <-partition.Messages():
			one := record{
				message.Partition, message.Offset, message.Key, message.Value, []header{},
				message.Timestamp.UnixNano() / 1_000_000,
			}
			for _, pair := range message.Headers {
				one.Headers = append(one.Headers, header{pair.Key, pair.Value})
			}
			found = append(found, one)
		case <-late:
			check(fmt.Errorf("%d records of %d", len(found), a.Count))
		}
	}
	tell(found)
}

// A member of a group, which tells its partitions and what it has read.
type member struct{}

func (member) Setup(session sarama.ConsumerGroupSession) error {
	for _, partitions := range session.Claims() {
		sort.Slice(partitions, func(i, j int) bool { return partitions[i] < partitions[j] })
		tell(map[string][]int32{"partitions": partitions})
	}
	return nil
}
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		tell(map[string][]int64{"record": {int64(message.Partition), message.Offset}})
	}
	return nil
}

func join(a arguments, config *sarama.Config) {
	config.Consumer.Offsets.CommitInterval = 100 * time.Millisecond
	group, err := sarama.NewConsumerGroup([]string{a.Kafka}, a.Group, config)
	check(err)
	for {
		// It returns at each rebalance, and with an error while the broker is away.
		if group.Consume(context.Background(), []string{a.Topic}, member{}) != nil {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

func commit(a arguments, client sarama.Client) {
	manager, err := sarama.NewOffsetManagerFromClient(a.Group, client)
	check(err)
	partition, err := manager.ManagePartition(a.Topic, a.Partition)
	check(err)
	partition.MarkOffset(a.Offset, a.Metadata)
	check(partition.Close())
	check(manager.Close())
	tell(true)
}

func committed(a arguments, client sarama.Client) {
	manager, err := sarama.NewOffsetManagerFromClient(a.Group, client)
	check(err)
	partition, err := manager.ManagePartition(a.Topic, a.Partition)
	check(err)
	offset, metadata := partition.NextOffset()
	tell([]interface{}{offset, metadata})
}

func administer(operation string, a arguments, config *sarama.Config) {
	admin, err := sarama.NewClusterAdmin([]string{a.Kafka}, config)
	check(err)
	var result interface{} = true
	switch operation {
	case "create_topic":
		err = admin.CreateTopic(
			a.Topic, &sarama.TopicDetail{NumPartitions: a.Count, ReplicationFactor: 1, ConfigEntries: a.Configs}, false)
	case "topics":
		topics, problem := admin.ListTopics()
		counts := map[string]int32{}
		for name, topic := range topics {
			counts[name] = topic.NumPartitions
		}
		result, err = counts, problem
	case "add_partitions":
		err = admin.CreatePartitions(a.Topic, a.Count, nil, false)
	case "configs":
		entries, problem := admin.DescribeConfig(
			sarama.ConfigResource{Type: sarama.TopicResource, Name: a.Topic})
		values := map[string]string{}
		for _, entry := range entries {
			values[entry.Name] = entry.Value
		}
		result, err = values, problem
	case "alter_config":
		err = admin.AlterConfig(sarama.TopicResource, a.Topic, map[string]*string{a.Name: &a.Value}, false)
	case "groups":
		groups, problem := admin.ListConsumerGroups()
		names := []string{}
		for name := range groups {
			names = append(names, name)
		}
		result, err = names, problem
	case "group_state":
		groups, problem := admin.DescribeConsumerGroups([]string{a.Group})
		check(problem)
		result = groups[0].State
	case "delete_records":
		err = admin.DeleteRecords(a.Topic, map[int32]int64{a.Partition: a.Offset})
	case "delete_topic":
		err = admin.DeleteTopic(a.Topic)
	default:
		err = fmt.Errorf("no operation %s", operation)
	}
	check(err)
	tell(result)
}

func main() {
	var a arguments
	check(json.NewDecoder(os.Stdin).Decode(&a))
	config := settings()
	switch operation := os.Args[1]; operation {
	case "produce":
		produce(a, config)
	case "member":
		join(a, config)
	case "read", "offset", "commit", "committed":
		client, err := sarama.NewClient([]string{a.Kafka}, config)
		check(err)
		switch operation {
		case "read":
			read(a, client)
		case "offset":
			offset, err := client.GetOffset(a.Topic, a.Partition, a.Time)
			check(err)
			tell(offset)
		case "commit":
			commit(a, client)
		case "committed":
			committed(a, client)
		}
	default:
		administer(operation, a, config)
	}
}
