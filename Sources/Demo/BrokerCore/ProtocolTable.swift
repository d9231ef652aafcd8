// SPDX-License-Identifier: Apache-2.0

/// A request of Kafka's protocol that the broker supports: its API key, versions and fields.
///
/// The fields are those of Kafka's message definitions, with consistent names: `Error`, `Topics`, `Name`, `Partitions`
/// and `Index` are the same in requests and responses, so that an error response can be built for any request
/// (`Refusal`).
public struct API: Sendable {
  public let key: Int16
  public let name: String
  public let versions: ClosedRange<Int16>
  /// The first flexible version (compact lengths and tagged fields).
  public let flexibleFrom: Int16
  public let request: [FieldSchema]
  public let answer: [FieldSchema]

  private init(
    _ key: Int16, _ name: String, _ versions: ClosedRange<Int16>, flexible: Int16,
    _ request: String,
    _ answer: String
  ) {
    self.key = key
    self.name = name
    self.versions = versions
    flexibleFrom = flexible
    self.request = FieldSchema.fields(request)
    self.answer = FieldSchema.fields(answer)
  }

  /// The APIs that ApiVersions reports, by API key.
  public static let all: [API] = [
    API(
      0, "Produce", 0...11, flexible: 9,
      """
      TransactionalId:s?@3 Acks:i16 TimeoutMs:i32
      Topics:[ Name:s Partitions:[ Index:i32 Records:r? ] ]
      """,
      """
      Topics:[ Name:s Partitions:[ Index:i32 Error:i16 BaseOffset:i64=-1 Time:i64@2=-1 LogStart:i64@5=-1
        RecordErrors:[ BatchIndex:i32 Message:s? ]@8 Message:s?@8
        CurrentLeader:( LeaderId:i32=-1 LeaderEpoch:i32=-1 )#0@10 ] ]
      ThrottleMs:i32@1
      """),
    API(
      1, "Fetch", 4...17, flexible: 12,
      """
      ClusterId:s?@12#0 ReplicaId:i32@0-14=-1 MaxWaitMs:i32 MinBytes:i32 MaxBytes:i32@3=2147483647
      Isolation:i8@4 SessionId:i32@7 SessionEpoch:i32@7=-1
      Topics:[ Name:s@0-12 Id:u@13 Partitions:[ Index:i32 LeaderEpoch:i32@9=-1 Offset:i64
        LastEpoch:i32@12=-1 LogStart:i64@5=-1 MaxBytes:i32 ] ]
      Forgotten:[ Name:s@0-12 Id:u@13 Partitions:[]i32 ]@7 Rack:s@11
      """,
      """
      ThrottleMs:i32@1 SessionError:i16@7 SessionId:i32@7
      Topics:[ Name:s@0-12 Id:u@13 Partitions:[ Index:i32 Error:i16 HighWatermark:i64=-1
        LastStable:i64@4=-1 LogStart:i64@5=-1 Diverging:( Epoch:i32=-1 EndOffset:i64=-1 )#0@12
        CurrentLeader:( LeaderId:i32=-1 LeaderEpoch:i32=-1 )#1@12
        Aborted:[ ProducerId:i64 FirstOffset:i64 ]?4@4 ReadReplica:i32@11=-1 Records:r ] ]
      """),
    API(
      2, "ListOffsets", 0...10, flexible: 6,
      """
      ReplicaId:i32 Isolation:i8@2
      Topics:[ Name:s Partitions:[ Index:i32 LeaderEpoch:i32@4=-1 Time:i64 MostOffsets:i32@0-0=1 ] ]
      TimeoutMs:i32@10
      """,
      """
      ThrottleMs:i32@2
      Topics:[ Name:s Partitions:[ Index:i32 Error:i16 OldOffsets:[]i64@0-0 Time:i64@1=-1 Offset:i64@1=-1
        LeaderEpoch:i32@4=-1 ] ]
      """),
    API(
      3, "Metadata", 0...12, flexible: 9,
      """
      Topics:[ Id:u@10 Name:s?10 ]?1 MayCreate:b@4=1 ClusterRights:b@8-10 TopicRights:b@8
      """,
      """
      ThrottleMs:i32@3 Brokers:[ NodeId:i32 Host:s Port:i32 Rack:s?@1 ] ClusterId:s?@2 Controller:i32@1=-1
      Topics:[ Error:i16 Name:s?12 Id:u@10 IsInternal:b@1 Partitions:[ Error:i16 Index:i32 Leader:i32
        LeaderEpoch:i32@7=-1 Replicas:[]i32 Isr:[]i32 Offline:[]i32@5 ] Rights:i32@8=-2147483648 ]
      Rights:i32@8-10=-2147483648
      """),
    API(
      8, "OffsetCommit", 0...9, flexible: 8,
      """
      GroupId:s Generation:i32@1=-1 MemberId:s@1 InstanceId:s?@7 RetentionMs:i64@2-4=-1
      Topics:[ Name:s Partitions:[ Index:i32 Offset:i64 LeaderEpoch:i32@6=-1 Time:i64@1-1=-1
        Metadata:s? ] ]
      """,
      "ThrottleMs:i32@3 Topics:[ Name:s Partitions:[ Index:i32 Error:i16 ] ]"),
    API(
      9, "OffsetFetch", 0...9, flexible: 6,
      """
      GroupId:s@0-7 Topics:[ Name:s Partitions:[]i32 ]?2@0-7
      Groups:[ GroupId:s MemberId:s?@9 MemberEpoch:i32@9=-1 Topics:[ Name:s Partitions:[]i32 ]?8 ]@8
      RequireStable:b@7
      """,
      """
      ThrottleMs:i32@3
      Topics:[ Name:s Partitions:[ Index:i32 Offset:i64=-1 LeaderEpoch:i32@5=-1 Metadata:s?
        PartitionError:i16 ] ]@0-7 Error:i16@2-7
      Groups:[ GroupId:s Topics:[ Name:s Partitions:[ Index:i32 Offset:i64=-1 LeaderEpoch:i32=-1
        Metadata:s? PartitionError:i16 ] ] Error:i16 ]@8
      """),
    API(
      10, "FindCoordinator", 0...6, flexible: 3,
      "Key:s@0-3 KeyType:i8@1 Coordinators:[]s@4",
      """
      ThrottleMs:i32@1 Error:i16@0-3 Message:s?@1-3 NodeId:i32@0-3=-1 Host:s@0-3 Port:i32@0-3=-1
      Coordinators:[ Key:s NodeId:i32=-1 Host:s Port:i32=-1 Error:i16 Message:s? ]@4
      """),
    API(
      11, "JoinGroup", 0...9, flexible: 6,
      """
      GroupId:s SessionMs:i32 RebalanceMs:i32@1=-1 MemberId:s InstanceId:s?@5 ProtocolType:s
      Protocols:[ Name:s Metadata:y ] Reason:s?@8
      """,
      """
      ThrottleMs:i32@2 Error:i16 Generation:i32=-1 ProtocolType:s?@7 ProtocolName:s?7 Leader:s
      SkipAssignment:b@9 MemberId:s Members:[ MemberId:s InstanceId:s?@5 Metadata:y ]
      """),
    API(
      12, "Heartbeat", 0...4, flexible: 4,
      "GroupId:s Generation:i32 MemberId:s InstanceId:s?@3", "ThrottleMs:i32@1 Error:i16"),
    API(
      13, "LeaveGroup", 0...5, flexible: 4,
      "GroupId:s MemberId:s@0-2 Members:[ MemberId:s InstanceId:s? Reason:s?@5 ]@3",
      "ThrottleMs:i32@1 Error:i16 Members:[ MemberId:s InstanceId:s? MemberError:i16 ]@3"),
    API(
      14, "SyncGroup", 0...5, flexible: 4,
      """
      GroupId:s Generation:i32 MemberId:s InstanceId:s?@3 ProtocolType:s?@5 ProtocolName:s?@5
      Assignments:[ MemberId:s Assignment:y ]
      """,
      "ThrottleMs:i32@1 Error:i16 ProtocolType:s?@5 ProtocolName:s?@5 Assignment:y"),
    API(
      15, "DescribeGroups", 0...5, flexible: 5,
      "Groups:[]s Rights:b@3",
      """
      ThrottleMs:i32@1 Groups:[ Error:i16 GroupId:s State:s ProtocolType:s Protocol:s
        Members:[ MemberId:s InstanceId:s?@4 ClientId:s Host:s Metadata:y Assignment:y ]
        Rights:i32@3=-2147483648 ]
      """),
    API(
      16, "ListGroups", 0...5, flexible: 3,
      "States:[]s@4 Types:[]s@5",
      "ThrottleMs:i32@1 Error:i16 Groups:[ GroupId:s ProtocolType:s State:s@4 Type:s@5 ]"),
    API(17, "SaslHandshake", 0...1, flexible: .max, "Mechanism:s", "Error:i16 Mechanisms:[]s"),
    API(
      18, "ApiVersions", 0...4, flexible: 3,
      "Software:s@3 SoftwareVersion:s@3",
      "Error:i16 Keys:[ Key:i16 Min:i16 Max:i16 ] ThrottleMs:i32@1"),
    API(
      19, "CreateTopics", 0...7, flexible: 5,
      """
      Topics:[ Name:s Partitions:i32 Replication:i16 Assignments:[ Index:i32 Brokers:[]i32 ]
        Configs:[ Name:s Value:s? ] ]
      TimeoutMs:i32 ValidateOnly:b@1
      """,
      """
      ThrottleMs:i32@2 Topics:[ Name:s Id:u@7 Error:i16 Message:s?@1 ConfigError:i16#0@5 Count:i32@5=-1
        Replication:i16@5=-1 Configs:[ Name:s Value:s? IsReadOnly:b Source:i8=-1 IsSensitive:b ]?5@5 ]
      """),
    API(
      20, "DeleteTopics", 0...6, flexible: 4,
      "Topics:[ Name:s? Id:u ]@6 Names:[]s@0-5 TimeoutMs:i32",
      "ThrottleMs:i32@1 Topics:[ Name:s?6 Id:u@6 Error:i16 Message:s?@5 ]"),
    API(
      21, "DeleteRecords", 0...2, flexible: 2,
      "Topics:[ Name:s Partitions:[ Index:i32 Offset:i64 ] ] TimeoutMs:i32",
      "ThrottleMs:i32 Topics:[ Name:s Partitions:[ Index:i32 LowWatermark:i64=-1 Error:i16 ] ]"),
    API(
      22, "InitProducerId", 0...5, flexible: 2,
      "TransactionalId:s? TimeoutMs:i32 ProducerId:i64@3=-1 Epoch:i16@3=-1",
      "ThrottleMs:i32 Error:i16 ProducerId:i64=-1 Epoch:i16=-1"),
    API(
      23, "OffsetForLeaderEpoch", 0...4, flexible: 4,
      """
      ReplicaId:i32@3=-2
      Topics:[ Name:s Partitions:[ Index:i32 CurrentEpoch:i32@2=-1 LeaderEpoch:i32 ] ]
      """,
      """
      ThrottleMs:i32@2
      Topics:[ Name:s Partitions:[ Error:i16 Index:i32 LeaderEpoch:i32@1=-1 EndOffset:i64=-1 ] ]
      """),
    API(
      32, "DescribeConfigs", 0...4, flexible: 4,
      "Results:[ Type:i8 Name:s Keys:[]s? ] Synonyms:b@1 Documentation:b@3",
      """
      ThrottleMs:i32 Results:[ Error:i16 Message:s? Type:i8 Name:s
        Configs:[ Name:s Value:s? IsReadOnly:b IsDefault:b@0-0 Source:i8@1=-1 IsSensitive:b
          Synonyms:[ Name:s Value:s? Source:i8 ]@1 Kind:i8@3 Documentation:s?@3 ] ]
      """),
    API(
      33, "AlterConfigs", 0...2, flexible: 2,
      "Results:[ Type:i8 Name:s Configs:[ Name:s Value:s? ] ] ValidateOnly:b",
      "ThrottleMs:i32 Results:[ Error:i16 Message:s? Type:i8 Name:s ]"),
    API(
      35, "DescribeLogDirs", 1...4, flexible: 2,
      "Topics:[ Name:s Partitions:[]i32 ]?",
      """
      ThrottleMs:i32 Error:i16@3 Results:[ Error:i16 Folder:s
        Topics:[ Name:s Partitions:[ Index:i32 Size:i64 Lag:i64 IsFuture:b ] ]
        TotalBytes:i64@4=-1 UsableBytes:i64@4=-1 ]
      """),
    API(
      36, "SaslAuthenticate", 0...2, flexible: 2,
      "Bytes:y", "Error:i16 Message:s? Bytes:y LifetimeMs:i64@1"),
    API(
      37, "CreatePartitions", 0...3, flexible: 2,
      "Results:[ Name:s Count:i32 Assignments:[ Brokers:[]i32 ]? ] TimeoutMs:i32 ValidateOnly:b",
      "ThrottleMs:i32 Results:[ Name:s Error:i16 Message:s? ]"),
    API(
      42, "DeleteGroups", 0...2, flexible: 2,
      "Groups:[]s", "ThrottleMs:i32 Groups:[ GroupId:s Error:i16 ]"),
    API(
      43, "ElectLeaders", 0...2, flexible: 2,
      "Kind:i8@1 Topics:[ Name:s Partitions:[]i32 ]? TimeoutMs:i32",
      """
      ThrottleMs:i32 Error:i16@1
      Results:[ Name:s Partitions:[ Index:i32 Error:i16 Message:s? ] ]
      """),
    API(
      44, "IncrementalAlterConfigs", 0...1, flexible: 1,
      "Results:[ Type:i8 Name:s Configs:[ Name:s Operation:i8 Value:s? ] ] ValidateOnly:b",
      "ThrottleMs:i32 Results:[ Error:i16 Message:s? Type:i8 Name:s ]"),
    API(
      45, "AlterPartitionReassignments", 0...0, flexible: 0,
      "TimeoutMs:i32 Topics:[ Name:s Partitions:[ Index:i32 Replicas:[]i32? ] ]",
      """
      ThrottleMs:i32 Error:i16 Message:s?
      Topics:[ Name:s Partitions:[ Index:i32 Error:i16 PartitionMessage:s? ] ]
      """),
    API(
      46, "ListPartitionReassignments", 0...0, flexible: 0,
      "TimeoutMs:i32 Topics:[ Name:s Partitions:[]i32 ]?",
      """
      ThrottleMs:i32 Error:i16 Message:s?
      Topics:[ Name:s Partitions:[ Index:i32 Replicas:[]i32 Adding:[]i32 Removing:[]i32 ] ]
      """),
    API(
      47, "OffsetDelete", 0...0, flexible: .max,
      "GroupId:s Topics:[ Name:s Partitions:[ Index:i32 ] ]",
      "Error:i16 ThrottleMs:i32 Topics:[ Name:s Partitions:[ Index:i32 PartitionError:i16 ] ]"),
    API(
      60, "DescribeCluster", 0...1, flexible: 0,
      "Rights:b Endpoints:i8@1=1",
      """
      ThrottleMs:i32 Error:i16 Message:s? Endpoints:i8@1=1 ClusterId:s Controller:i32=-1
      Brokers:[ NodeId:i32 Host:s Port:i32 Rack:s? ] Rights:i32=-2147483648
      """),
  ]

  /// The request with this API key; nil if the broker does not support it.
  public static func numbered(_ key: Int16) -> API? { byKey[key] }
  private static let byKey = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0) })
}
