use strict;
use warnings;

my $count = shift;
my (%by_name, @lines);
for my $number (0 .. $count - 1) {
    my $name = "name-" . ($number * 7919 % 10007);
    push @{$by_name{$name}}, {id => $number, tags => [map { "tag-" . $number % $_ } 3, 5, 7]};
    push @lines, join(",", $name, $number, $number % 97);
}
my @sorted = sort { $a cmp $b } @lines;
my %sums;
for my $line (@sorted) {
    my ($name, $number, $rest) = split /,/, $line;
    $sums{$rest} += $number if $name =~ /^name-(\d+)$/ && $1 % 2;
}
delete @by_name{grep { length($_) % 2 } keys %by_name};
my $text = join ";", map { "$_=$sums{$_}" } sort { $a <=> $b } keys %sums;
$text =~ s/(\d+)=(\d+)/$2:$1/g;
print scalar(keys %by_name), " ", length($text), " ", $sorted[0], " ", $sorted[-1], "\n";
